import { userInfo } from 'node:os';

/** The name of this user; what the system does not know, as in a container, the environment may. */
export function loginName(): string {
  try {
    return userInfo().username;
  } catch {
    return process.env['USER'] ?? 'operator';
  }
}
