/**
 * How the page is connected to the live updates of the server: `lost` when the connection broke,
 * `silent` when nothing comes through it, `locked` when the server does not know this window's
 * cookie, `refused` for any other refusal, `resting` while the page is hidden.
 */
export type Connection =
  'connecting' | 'open' | 'lost' | 'silent' | 'locked' | 'refused' | 'resting';

/**
 * What is said above the page; undefined while all is well.
 *
 * @param refusal the words of the server
 */
export function connectionWords(connection: Connection, refusal: string): string | undefined {
  switch (connection) {
    case 'lost':
      return 'The connection to the server is lost. What is shown may be old; trying again…';
    case 'silent':
      return 'The server does not answer: it may be stopped, or the tunnel to it stalled. What is shown may be old; the page continues automatically when it answers.';
    case 'locked':
      return 'The server was started again with a new token. Open the new address that crosstalk web printed; what you typed is kept in this browser.';
    case 'refused':
      return `The server refuses this page: ${refusal}`;
    default:
      return undefined;
  }
}
