import { existsSync } from 'node:fs';
import { extname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Isolation } from '../../../activities/executors/python/check-python.ts';
import { errorMessage } from '../../core/domain/errors.ts';
import type { ServerFlags } from '../define-command.ts';
import { type AgentsModule, loadAgentsModule } from '../input-files.ts';
import { connectToServer, type ServerState } from './server-state.ts';

/** The time that a check may take, in milliseconds. All run at once. */
export const CHECK_MS = 3_000;

/** The time that the agents module may take to load, before all checks: what it does while it loads may keep this process from anything else. */
const LOAD_MS = 4_000;

/** The time for what several checks need: shorter, so that they can still say that it is missing. */
export const PREREQUISITE_MS = 2_500;

/** What the checks know of the machine, so that tests can examine another one. */
export interface Machine {
  env: NodeJS.ProcessEnv;
  /** The folder of the project. */
  folder: string;
  nodeVersion: string;
  /** True if this Node loads TypeScript as it is. */
  loadsTypeScript: boolean;
  /** What isolates code in Python, if it is not at the usual places. */
  isolation?: Partial<Isolation>;
  /** The ports that `longhaul dev` takes if they are free. */
  ports: readonly number[];
  /** Asks a person; undefined if nobody can be asked. */
  ask: ((question: string) => Promise<boolean>) | undefined;
}

/** The options that the checks use. */
export interface ExaminationFlags extends ServerFlags {
  agents?: string;
  live?: boolean;
  codecEndpoint?: string;
}

/** The agents of the user, why they cannot be loaded, or that there are none to check. */
type LoadedAgents =
  | { state: 'loaded'; module: AgentsModule; path: string }
  | { state: 'failed'; reason: string; path: string }
  | { state: 'absent' };

/** One examination of an installation: what several checks need is made once, and only if one of them asks. */
export class Examination {
  readonly machine: Machine;
  readonly flags: ExaminationFlags;
  /** The secrets that checks have read, by their names: no report may have them. */
  readonly secrets: Record<string, string>;
  #agents: Promise<LoadedAgents> | undefined;
  #server: Promise<ServerState> | undefined;

  constructor(machine: Machine, flags: ExaminationFlags, secrets: Record<string, string>) {
    this.machine = machine;
    this.flags = flags;
    this.secrets = secrets;
  }

  /** The path of the agents module: that of the option, or `./agents.ts` if there is one. */
  get agentsPath(): string | undefined {
    const usual = join(this.machine.folder, 'agents.ts');
    return this.flags.agents ?? (existsSync(usual) ? usual : undefined);
  }

  get agents(): Promise<LoadedAgents> {
    return (this.#agents ??= this.#loadAgents());
  }

  get server(): Promise<ServerState> {
    return (this.#server ??= connectToServer(this.flags, PREREQUISITE_MS));
  }

  async close(): Promise<void> {
    const server = await Promise.race([this.#server, delay(100, undefined, { ref: false })]);
    if (server?.state === 'up') await server.connection.close().catch(() => undefined);
  }

  async #loadAgents(): Promise<LoadedAgents> {
    const path = this.agentsPath;
    if (path === undefined) return { state: 'absent' };
    if (!this.machine.loadsTypeScript && /^\.[mc]?ts$/.test(extname(path))) return { state: 'absent' };
    const late = delay(LOAD_MS, undefined, { ref: false });
    try {
      const module = await Promise.race([loadAgentsModule(path), late]);
      if (module === undefined)
        return { state: 'failed', reason: `The agents module "${path}" does not load within ${LOAD_MS / 1000} s`, path };
      return { state: 'loaded', module, path };
    } catch (error) {
      return { state: 'failed', reason: errorMessage(error), path };
    }
  }
}
