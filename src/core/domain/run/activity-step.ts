/**
 * Reads the step of an activity from the input of a tool call, or from the summary of a model call, which begins with it.
 * Undefined for other activities, and if a codec hides both.
 */
export function activityStep(summary: unknown, input: unknown): number | undefined {
  if (typeof input === 'object' && input !== null && 'callId' in input && 'step' in input && typeof input.step === 'number')
    return input.step;
  const [, step] = /^step (\d+)\b/.exec(typeof summary === 'string' ? summary : '') ?? [];
  return step === undefined ? undefined : Number(step);
}
