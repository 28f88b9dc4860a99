/** Returns the id of the event with the calls of the agents of a parallel flow. Its run records one such event. */
export function branchesId(runId: string): string {
  return `${runId}/branches`;
}
