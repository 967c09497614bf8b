/** What a command says on stderr, but for the line that no dispatcher runs here. */
export function besideIdle(err: string): string {
  return err
    .split('\n')
    .filter((line) => !line.includes('no dispatcher is running here'))
    .join('\n');
}
