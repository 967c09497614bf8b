/** Whether a path belongs to the API, in whatever case it is written. */
export function isApi(path: string): boolean {
  const lower = path.toLowerCase();
  return lower === '/api' || lower.startsWith('/api/') || lower === '/metrics';
}

/** The paths whose answers do not end. */
export const STREAMS: ReadonlySet<string> = new Set(['/api/events']);
