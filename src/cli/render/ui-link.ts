import { withoutEnd } from '../../core/domain/text.ts';
import type { ServerLocation } from '../with-client.ts';

const PROBE_MS = 500;
/** The difference between the port of the UI and the port of the server in `temporal server start-dev`. */
const UI_PORT_OFFSET = 1000;
const CLOUD_UI = 'https://cloud.temporal.io';

/** Returns the address of a run in the Temporal UI at `base`. */
export function runLink(base: string, namespace: string, runId: string): string {
  return `${withoutEnd(base, '/')}/namespaces/${encodeURIComponent(namespace)}/workflows/${encodeURIComponent(runId)}`;
}

/**
 * Returns the address of a server's Temporal UI: `LONGHAUL_UI_URL`, the UI of Temporal Cloud for a server there, or
 * for a local server the matching port, if a UI answers on it. Undefined if none is known.
 */
export async function findUi({ address }: ServerLocation, env: NodeJS.ProcessEnv): Promise<string | undefined> {
  if (env['LONGHAUL_UI_URL']) return env['LONGHAUL_UI_URL'];
  const url = URL.parse(`grpc://${address}`);
  if (url === null) return undefined;
  if (/\.(tmprl\.cloud|api\.temporal\.io)$/.test(url.hostname)) return CLOUD_UI;
  if (!['localhost', '127.0.0.1', '[::1]'].includes(url.hostname)) return undefined;
  const port = Number(url.port || 7233) + UI_PORT_OFFSET;
  const base = `http://${url.hostname}:${port}`;
  return port <= 65_535 && (await answersAsUi(base)) ? base : undefined;
}

/** True if Temporal's UI answers. Another program may listen on that port, but only the UI serves its settings. */
async function answersAsUi(base: string): Promise<boolean> {
  try {
    const response = await fetch(`${base}/api/v1/settings`, { signal: AbortSignal.timeout(PROBE_MS) });
    const settings: unknown = response.ok ? await response.json() : undefined;
    return typeof settings === 'object' && settings !== null && 'DefaultNamespace' in settings;
  } catch {
    return false;
  }
}
