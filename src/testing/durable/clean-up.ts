/** What is to be done when a test has ended, however it has: the last added first. */
export class CleanUp {
  readonly #todo: (() => Promise<unknown>)[] = [];

  add(end: () => Promise<unknown>): void {
    this.#todo.push(end);
  }

  /** Does all of it, even where some of it fails; rejects then with the first reason. */
  async run(): Promise<void> {
    const problems: unknown[] = [];
    for (const end of this.#todo.toReversed()) await end().catch((error: unknown) => problems.push(error));
    if (problems.length > 0) throw problems[0];
  }
}
