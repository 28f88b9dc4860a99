import { dirname } from 'node:path';
import { KEYS_VARIABLE } from '../../codec/environment-keys.ts';
import type { DevServer } from '../../dev-server/index.ts';
import type { Output } from '../output.ts';
import type { CommandIo } from '../program/command.ts';
import { findUi } from '../render/ui-link.ts';
import { resolveServerLocation } from '../with-client.ts';
import type { DevCodecServer } from './dev-codec.ts';
import type { DevWorkerReady } from './dev-worker.ts';

/** The servers that a session of `longhaul dev` has started or found. */
export interface Session {
  server: DevServer;
  codecServer: DevCodecServer;
}

/** Says what the session has, and what to do next. Pages of the Temporal UI may then call the codec server. */
export async function announceSession(
  { terminal, output }: CommandIo,
  { server, codecServer, ...worker }: Session & DevWorkerReady,
): Promise<void> {
  const { taskQueue, httpUrl, agents, programs } = worker;
  const { address, namespace } = server;
  const uiUrl = server.uiUrl ?? (await findUi(server, terminal.env));
  codecServer.allow(uiUrl);
  const { endpoint: codecEndpoint } = codecServer;
  const found = {
    ...(server.dbFile === undefined ? {} : { dbFile: server.dbFile }),
    ...(uiUrl === undefined ? {} : { uiUrl }),
    ...(codecEndpoint === undefined ? {} : { codecEndpoint }),
    ...(httpUrl === undefined ? {} : { httpUrl }),
  };
  if (output.json) return output.printJson({ address, namespace, taskQueue, ...found, agents, programs });
  const facts = [
    ['Temporal', `${address} (namespace "${namespace}")`],
    ...(server.cliPath === undefined ? [] : [['Runs', keptText(server.dbFile)] as const]),
    ['UI', uiUrl ?? 'unknown'],
    ...(codecEndpoint === undefined ? [] : [['Codec', `${codecEndpoint}, for the UI and temporal --codec-endpoint`] as const]),
    ...(httpUrl === undefined ? [] : [['HTTP', httpUrl] as const]),
    ['Task queue', taskQueue],
    ...(agents.length === 0 && programs.length > 0
      ? []
      : [['Agents', agents.join(', ') || `none: start a worker with ${output.program} worker --agents <module>`] as const]),
    ...(programs.length === 0 ? [] : [['Programs', programs.join(', ')] as const]),
  ] as const;
  for (const [name, value] of facts) output.print(`${output.look('dim', name.padEnd(11))} ${value}`);
  const commands = await nextCommands(output, address, worker);
  const keys = terminal.env[KEYS_VARIABLE] ? `, with the same ${KEYS_VARIABLE}` : '';
  if (commands.length > 0) output.print(`\nIn another terminal${keys}:\n${commands.map((command) => `  ${command}`).join('\n')}`);
  output.print('\nCtrl-C ends it.');
}

function keptText(dbFile: string | undefined): string {
  if (dbFile === undefined) return 'in memory: gone when this ends';
  return `kept in ${dbFile}. To begin anew, end this and delete ${dirname(dbFile) === '.longhaul' ? '.longhaul' : `${dbFile}*`}`;
}

/** Returns commands for another terminal. */
async function nextCommands({ program: longhaul }: Output, address: string, worker: DevWorkerReady): Promise<string[]> {
  const {
    httpUrl,
    agents: [agent],
    programs: [program],
  } = worker;
  const flag = await addressFlag(address);
  return [
    ...(agent === undefined ? [] : [`${longhaul} start ${agent} "…" --wait${flag}`]),
    ...(program === undefined ? [] : [`${longhaul} run ${program} --input-json '{…}'${flag}`]),
    ...(agent === undefined || httpUrl === undefined
      ? []
      : [`curl ${httpUrl}/v1/runs --json '${JSON.stringify({ agent, input: '…' })}'`, `curl -N ${httpUrl}/v1/runs/<run id>/stream`]),
  ];
}

/** Returns the flag that another terminal needs to find this server, if any. */
async function addressFlag(address: string): Promise<string> {
  const usual = (await resolveServerLocation({})).address.replace(/^localhost:/, '127.0.0.1:');
  return usual === address.replace(/^localhost:/, '127.0.0.1:') ? '' : ` --address ${address}`;
}
