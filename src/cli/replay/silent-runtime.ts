let installed: Promise<void> | undefined;

/**
 * Makes Temporal's SDK say nothing: a replay reports every problem itself, and the SDK would log each a second time.
 * Must come before anything of the SDK's worker is used; calling it again changes nothing.
 */
export async function installSilentRuntime(): Promise<void> {
  installed ??= install();
  await installed;
}

async function install(): Promise<void> {
  const { DefaultLogger, Runtime } = await import('@temporalio/worker');
  Runtime.install({
    logger: new DefaultLogger('ERROR', () => undefined),
    telemetryOptions: { logging: { filter: { core: 'ERROR', other: 'ERROR' }, forward: {} } },
    shutdownSignals: [],
  });
}
