/** The question of `init` and `actor add`; just Enter agrees. */
export function askingSandbox(
  ask: (question: string) => Promise<string>,
): (actor: string) => Promise<boolean> {
  return async (actor) => {
    const answer = await ask(
      `Shall runs of ${actor} be kept in a sandbox? They write only where they work, see no keys or logins, and reach only their model. [Y/n] `,
    );
    return !/^n/i.test(answer.trim());
  };
}
