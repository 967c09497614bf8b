/** The prompts of a terminal with a screen, in a bundle of their own (build.js). */
export { confirm, intro, isCancel, log, select, text } from '@clack/prompts';
