/** How the page is connected to the live updates of the server. */
export type Connection = 'connecting' | 'open' | 'lost' | 'resting';
