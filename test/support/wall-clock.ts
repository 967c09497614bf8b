import fc from 'fast-check';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

/** Zones in which clocks are changed: by an hour, by half an hour, at midnight, in the south. */
export const ZONES = [
  'Europe/Berlin',
  'America/New_York',
  'Australia/Lord_Howe',
  'America/Havana',
  'Pacific/Auckland',
] as const;

/** The clocks of a zone are changed at a multiple of this. */
const SLOT_MS = 15 * MINUTE_MS;

/** What a clock on the wall shows, in minutes since 1970, found out without the code under test. */
export function wall(zone: string): (time: number) => number {
  const format = new Intl.DateTimeFormat('sv-SE', {
    timeZone: zone,
    dateStyle: 'short',
    timeStyle: 'short',
  });
  const ahead = new Map<number, number>();
  return (time) => {
    const slot = Math.floor(time / SLOT_MS);
    let minutes = ahead.get(slot);
    if (minutes === undefined) {
      const begin = slot * SLOT_MS;
      const shown = Date.parse(`${format.format(begin).replace(' ', 'T')}:00Z`);
      ahead.set(slot, (minutes = (shown - begin) / MINUTE_MS));
    }
    return Math.floor(time / MINUTE_MS) + minutes;
  };
}

interface Field {
  text: string;
  has: (value: number) => boolean;
}

const field = (least: number, most: number): fc.Arbitrary<Field> =>
  fc.oneof(
    fc.constant({ text: '*', has: () => true }),
    fc
      .uniqueArray(fc.integer({ min: least, max: most }), { minLength: 1, maxLength: 3 })
      .map((list) => ({
        text: list.join(','),
        has: (value: number) => list.includes(value),
      })),
    fc
      .tuple(fc.integer({ min: least, max: most }), fc.integer({ min: least, max: most }))
      .map(([a, b]) => ({
        text: `${String(Math.min(a, b))}-${String(Math.max(a, b))}`,
        has: (value: number) => value >= Math.min(a, b) && value <= Math.max(a, b),
      })),
    fc.integer({ min: 2, max: 20 }).map((step) => ({
      text: `*/${String(step)}`,
      has: (value: number) => (value - least) % step === 0,
    })),
  );

/** Every field but month and weekday; those two are compared with another program elsewhere. */
export const expression = fc.tuple(field(0, 59), field(0, 23)).map(([minute, hour]) => ({
  text: `${minute.text} ${hour.text} * * *`,
  has: (clock: number) => minute.has(clock % 60) && hour.has(Math.floor(clock / 60) % 24),
}));

/** Each due minute of a span: local times, the first time that they come, those left out when the clock is put forward. */
export function expected(
  clock: (time: number) => number,
  has: (clock: number) => boolean,
  from: number,
  until: number,
): number[] {
  const due: number[] = [];
  let latest = clock(from - 3 * HOUR_MS) - 1;
  for (let at = from - 3 * HOUR_MS; at <= until; at += MINUTE_MS) {
    const now = clock(at);
    let isDue = now > latest && has(now);
    // What is left out is due at once, unless the first of it is due as much later anyway.
    const gap = now - latest - 1;
    let first = latest + 1;
    while (first < now && !has(first)) first++;
    if (first < now && !has(first + gap)) isDue = true;
    latest = Math.max(latest, now);
    if (isDue && at > from) due.push(at);
  }
  return due;
}
