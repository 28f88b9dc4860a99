/** The reaction to a prompt: a line, Ctrl-C, or the end of the input (Ctrl-D). */
export type Reaction = { type: 'line'; text: string } | { type: 'interrupt' } | { type: 'end' };

/** The lines that a person enters. */
export interface Lines {
  /**
   * Shows a prompt and waits for a line. A line that was entered before counts, unless `fresh`: a decision must not be taken by what was
   * entered before the question was there. Ctrl-C discards a line that has been begun, but at a fresh prompt it is the reaction at once.
   */
  ask(prompt: string, options?: { fresh?: boolean }): Promise<Reaction>;
  /** Calls the listener at each Ctrl-C, and at the end of the input, while no line is asked for. There is one listener. */
  onInterruption(listener: (by: 'interrupt' | 'end') => void): void;
  close(): void;
}
