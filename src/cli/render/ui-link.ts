import type { ServerPlace } from '../with-client.ts';

const PROBE_MS = 500;
/** `temporal server start-dev` puts its UI this far above the server's port. */
const UI_PORT_OFFSET = 1000;
const CLOUD_UI = 'https://cloud.temporal.io';

/** The address of a run in the Temporal UI at `base`. */
export function runLink(base: string, namespace: string, runId: string): string {
  return `${base.replace(/\/+$/, '')}/namespaces/${encodeURIComponent(namespace)}/workflows/${encodeURIComponent(runId)}`;
}

/**
 * Where the Temporal UI of a server is: `LONGHAUL_UI_URL`, Temporal Cloud's for a server of Temporal Cloud, and for a
 * server on this machine the port that goes with it, if a UI answers there. Undefined where none is known.
 */
export async function findUi({ address }: ServerPlace, env: NodeJS.ProcessEnv): Promise<string | undefined> {
  if (env['LONGHAUL_UI_URL']) return env['LONGHAUL_UI_URL'];
  const url = URL.parse(`grpc://${address}`);
  if (url === null) return undefined;
  if (/\.(tmprl\.cloud|api\.temporal\.io)$/.test(url.hostname)) return CLOUD_UI;
  if (!['localhost', '127.0.0.1', '[::1]'].includes(url.hostname)) return undefined;
  const port = Number(url.port || 7233) + UI_PORT_OFFSET;
  const base = `http://${url.hostname}:${port}`;
  return port <= 65_535 && (await answersAsUi(base)) ? base : undefined;
}

/** Something else may listen at that port: only Temporal's UI knows the settings of one. */
async function answersAsUi(base: string): Promise<boolean> {
  try {
    const response = await fetch(`${base}/api/v1/settings`, { signal: AbortSignal.timeout(PROBE_MS) });
    const settings: unknown = response.ok ? await response.json() : undefined;
    return typeof settings === 'object' && settings !== null && 'DefaultNamespace' in settings;
  } catch {
    return false;
  }
}
