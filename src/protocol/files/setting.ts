import { CrosstalkError } from '../../errors.ts';
import { didYouMean } from '../text/nearest.ts';
import { shown } from '../text/result.ts';
import { TIER_OPTIONS } from './tier-options.ts';

/** An option of a tier, and its new value; an empty one stands for the default. */
export type Setting = readonly [option: string, value: string];

/**
 * Parses `option=value`.
 *
 * @throws CrosstalkError `usage` for any other text, and for an option that tiers do not have
 */
export function parseSetting(text: string): Setting {
  const at = text.indexOf('=');
  const option = text.slice(0, at < 0 ? undefined : at).replaceAll('-', '_');
  if (!TIER_OPTIONS.includes(option))
    throw new CrosstalkError(
      'usage',
      `${shown(option)} is not an option of a tier${didYouMean(option, TIER_OPTIONS)}; the options are ${TIER_OPTIONS.join(', ')}`,
    );
  if (at < 0)
    throw new CrosstalkError('usage', `${option} has no value; write it as ${option}=<value>`);
  const value = text.slice(at + 1).trim();
  if (option === 'cli' && value === '')
    throw new CrosstalkError(
      'usage',
      'cli= is empty; a tier needs a command, or is removed with: crosstalk actor remove',
    );
  return [option, value];
}
