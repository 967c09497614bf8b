import { syncBuiltinESMExports } from 'node:module';
import { afterAll } from 'vitest';

/** Replaces a function of a module of Node until the end of the test file, for all who import it. */
export function replaceBuiltin<M extends object, K extends keyof M>(
  module: M,
  name: K,
  by: (real: M[K]) => M[K],
): void {
  const real = module[name];
  const put = (value: M[K]): void => {
    module[name] = value;
    syncBuiltinESMExports();
  };
  put(by(real));
  afterAll(() => {
    put(real);
  });
}
