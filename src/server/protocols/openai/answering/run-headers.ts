/** Returns the headers that name the run of a response. The package shows `x-request-id` with each of its errors and results. */
export function runHeaders(runId: string): Record<string, string> {
  // A header has no characters beyond ASCII.
  return { 'x-request-id': encodeURI(runId) };
}
