let installed: Promise<void> | undefined;

/**
 * Silences the log of Temporal's SDK: a replay reports every problem itself, and the SDK would log each one again.
 * Must be called before anything else of the SDK's worker is used. Calling it again has no effect.
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
