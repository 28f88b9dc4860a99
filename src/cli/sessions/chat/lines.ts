/** The reaction to a prompt: a line, Ctrl-C, or the end of the input (Ctrl-D). */
export type Reaction = { type: 'line'; text: string } | { type: 'interrupt' } | { type: 'end' };

/** The lines that a person types. */
export interface Lines {
  /**
   * Shows a prompt and waits for a line. A line that was typed before counts, unless `fresh`: a decision must not be taken by what was
   * typed before the question was there.
   */
  ask(prompt: string, options?: { fresh?: boolean }): Promise<Reaction>;
  /** Waits for Ctrl-C, or for the end of the input, while no line is asked for. */
  interruption(): Promise<'interrupt' | 'end'>;
  close(): void;
}
