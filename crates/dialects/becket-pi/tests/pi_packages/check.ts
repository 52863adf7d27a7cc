// Collects what is not as it should be, so that one run tells all of it.
const failures: string[] = [];

const written = (value: unknown): string => JSON.stringify(value) ?? String(value);

export function same(what: string, got: unknown, wanted: unknown): void {
  if (written(got) !== written(wanted))
    failures.push(`${what}: got ${written(got)}, wanted ${written(wanted)}`);
}

/** The words of the error that a function throws or rejects with. */
export async function errorOf(run: () => unknown): Promise<string> {
  try {
    await run();
  } catch (error) {
    return (error as Error).message;
  }
  return "no error";
}

export const report = (): string[] => failures.splice(0);
