/**
 * An error in the words of a tool's caller, who knows arguments and tools but neither options of a
 * command line nor a shell: `--channel <name>` becomes `channel`, and `crosstalk status` the tool of
 * that name. Options of no tool stay, because they are for the operator.
 *
 * @param members the arguments of the tool
 * @param tools the names of all tools
 */
export function inToolWords(
  message: string,
  members: readonly string[],
  tools: readonly string[],
): string {
  return message
    .replace(
      'give its text as an argument, on stdin, or with --file <path>',
      'give its text as body',
    )
    .replace(
      /(?<![\w-])--([a-z]+)\b(?: <[^<>]{1,40}>)?/g,
      (all, option: string) => argumentOf(option, members) ?? all,
    )
    .replace(
      /(?<=with: )crosstalk ([a-z]+)(?: ([a-z]+))?(?=$|;|,)/g,
      (all, group: string, word?: string) => {
        if (word !== undefined && tools.includes(`${group}_${word}`))
          return `the tool ${group}_${word}`;
        return tools.includes(group) ? `the tool ${group}` : all;
      },
    );
}

/** The argument that stands for an option; one that may be repeated is a list. */
function argumentOf(option: string, members: readonly string[]): string | undefined {
  const name = [option, `${option}s`].find((one) => members.includes(one));
  return name && `the argument ${name}`;
}
