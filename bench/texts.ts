/**
 * Reproducible texts: words are distributed by Zipf's law, and lengths are those of people's and
 * agents' messages.
 */
export class Texts {
  #seed: number;

  constructor(seed: number) {
    this.#seed = seed;
  }

  /** A number from 0 to 1, which is the same for the same seed (mulberry32). */
  random(): number {
    this.#seed = (this.#seed + 0x6d2b79f5) | 0;
    let t = Math.imul(this.#seed ^ (this.#seed >>> 15), 1 | this.#seed);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  }

  /** The word of a rank: a lower rank is more frequent. */
  word(rank: number): string {
    const consonants = 'bdfgklmnprstvz';
    const vowels = 'aeiou';
    let text = '';
    for (let left = rank + 20; left > 0; left = Math.floor(left / 70))
      text += (consonants[left % 14] ?? '') + (vowels[Math.floor(left / 14) % 5] ?? '');
    return text;
  }

  /** A random rank among 50,000, distributed by Zipf's law. */
  rank(): number {
    return Math.floor(Math.exp(this.random() * Math.log(50_000))) - 1;
  }

  /** A body of about `words` words, in lines. */
  body(words: number): string {
    const count = Math.max(3, Math.round(words * (0.3 + 1.4 * this.random())));
    const parts: string[] = [];
    for (let n = 1; n <= count; n++)
      parts.push(this.word(this.rank()) + (n % 12 === 0 ? '.\n' : ''));
    return `${parts.join(' ')}\n`;
  }
}
