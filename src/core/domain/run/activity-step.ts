/**
 * The step that an activity of a run belongs to, by what it was scheduled with: the input of a tool call says so, and
 * the summary of a model call begins with it. Undefined for other activities, and where a codec hides both.
 */
export function activityStep(summary: unknown, input: unknown): number | undefined {
  if (typeof input === 'object' && input !== null && 'callId' in input && 'step' in input && typeof input.step === 'number')
    return input.step;
  const [, step] = /^step (\d+)\b/.exec(typeof summary === 'string' ? summary : '') ?? [];
  return step === undefined ? undefined : Number(step);
}
