/**
 * Makes Temporal's SDK say on stderr only what needs attention, and leaves signals to the command: the SDK would shut
 * workers down by itself. Must come before anything of the SDK's worker is used.
 */
export async function installQuietRuntime(): Promise<void> {
  const { DefaultLogger, Runtime } = await import('@temporalio/worker');
  Runtime.install({ logger: new DefaultLogger('WARN'), shutdownSignals: [] });
}
