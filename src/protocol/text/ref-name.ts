const REF_PART = /^(?:[A-Za-z0-9_]|[A-Za-z0-9_][A-Za-z0-9._+#-]*[A-Za-z0-9_+#-])$/;

/** The name of a branch, a tag or a remote, as git allows it and a command line may contain it. */
export function isRefName(text: unknown): text is string {
  return (
    typeof text === 'string' &&
    text.length <= 200 &&
    text.split('/').every((part) => REF_PART.test(part) && !part.endsWith('.lock'))
  );
}
