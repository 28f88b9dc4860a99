import { bind, type BoundCommand } from './define-command.ts';
import { SET_PERMISSIONS } from './permission-commands.ts';
import * as inspecting from './run-commands.ts';
import * as runs from './run-commands.ts';
import * as serving from './serve-commands.ts';
import * as sessions from './session-commands.ts';
import { DOCTOR } from './shell-commands.ts';
import * as shell from './shell-commands.ts';

/** A heading of the list of commands, with its commands in order. */
interface CommandGroup {
  heading: string;
  commands: readonly BoundCommand[];
}

/** Every command, with its code. */
export const COMMAND_GROUPS: readonly CommandGroup[] = [
  {
    heading: 'Serve agents',
    commands: [
      bind(serving.DEV, async () => (await import('./serve/dev.ts')).dev),
      bind(serving.WORKER, async () => (await import('./serve/worker.ts')).worker),
      bind(serving.SERVE, async () => (await import('./serve/serve.ts')).serve),
      bind(serving.STUDIO, async () => (await import('./serve/studio.ts')).studio),
      bind(serving.CODEC_SERVER, async () => (await import('./serve/codec-server.ts')).codecServer),
    ],
  },
  {
    heading: 'Start and inspect runs',
    commands: [
      bind(runs.START, async () => (await import('./commands/start.ts')).start),
      bind(runs.SHOW, async () => (await import('./commands/show.ts')).show),
      bind(runs.TREE, async () => (await import('./commands/show.ts')).tree),
      bind(runs.EVENTS, async () => (await import('./commands/show.ts')).events),
      bind(runs.RESULT, async () => (await import('./commands/show.ts')).result),
      bind(runs.LIST, async () => (await import('./commands/list.ts')).list),
      bind(runs.TRACE, async () => (await import('./commands/programs.ts')).trace),
      bind(inspecting.FEED, async () => (await import('./commands/inspect.ts')).feed),
      bind(inspecting.COUNTS, async () => (await import('./commands/inspect.ts')).counts),
      bind(inspecting.TIMELINE, async () => (await import('./commands/inspect.ts')).timeline),
      bind(inspecting.SNAPSHOT, async () => (await import('./commands/inspect.ts')).snapshot),
      bind(inspecting.REQUEST, async () => (await import('./commands/inspect.ts')).request),
      bind(inspecting.CALL, async () => (await import('./commands/inspect.ts')).call),
    ],
  },
  {
    heading: 'Sessions',
    commands: [
      bind(sessions.CHAT, async () => (await import('./chat/chat.ts')).chat),
      bind(sessions.SESSIONS, async () => (await import('./commands/sessions.ts')).sessions),
      bind(sessions.SHOW_SESSION, async () => (await import('./commands/sessions.ts')).showSession),
      bind(inspecting.TURNS, async () => (await import('./commands/inspect.ts')).turns),
      bind(sessions.RAISE_SESSION, async () => (await import('./commands/sessions.ts')).raiseSession),
      bind(sessions.RESET_SESSION, async () => (await import('./commands/sessions.ts')).resetSession),
      bind(sessions.SAVE_SESSION, async () => (await import('./commands/sessions.ts')).saveSession),
      bind(sessions.LOAD_SESSION, async () => (await import('./commands/sessions.ts')).loadSession),
      bind(sessions.CLOSE_SESSION, async () => (await import('./commands/sessions.ts')).closeSession),
      bind(sessions.DELETE_SESSION, async () => (await import('./commands/sessions.ts')).deleteSession),
    ],
  },
  {
    heading: 'Programs',
    commands: [
      bind(runs.CHECK, async () => (await import('./commands/programs.ts')).check),
      bind(runs.RUN, async () => (await import('./commands/programs.ts')).runProgram),
    ],
  },
  {
    heading: 'Decide and steer',
    commands: [
      bind(runs.APPROVALS, async () => (await import('./commands/decisions.ts')).approvals),
      bind(runs.APPROVE, async () => (await import('./commands/decisions.ts')).approve),
      bind(runs.REJECT, async () => (await import('./commands/decisions.ts')).reject),
      bind(runs.RESPOND, async () => (await import('./commands/decisions.ts')).respond),
      bind(runs.REVOKE, async () => (await import('./commands/decisions.ts')).revoke),
      bind(runs.SEND, async () => (await import('./commands/steer.ts')).send),
      bind(runs.PAUSE, async () => (await import('./commands/steer.ts')).pause),
      bind(runs.RESUME, async () => (await import('./commands/steer.ts')).resume),
      bind(runs.RAISE, async () => (await import('./commands/steer.ts')).raise),
      bind(SET_PERMISSIONS, async () => (await import('./commands/set-permissions.ts')).setPermissions),
      bind(runs.CANCEL, async () => (await import('./commands/steer.ts')).cancel),
      bind(runs.RETRY, async () => (await import('./commands/steer.ts')).retry),
    ],
  },
  {
    heading: 'Keep, move and remove data',
    commands: [
      bind(runs.EXPORT, async () => (await import('./commands/export.ts')).exportRun),
      bind(runs.SAVE, async () => (await import('./commands/records.ts')).saveRun),
      bind(runs.DELETE, async () => (await import('./commands/records.ts')).deleteRun),
      bind(runs.FORGET, async () => (await import('./commands/records.ts')).forget),
      bind(runs.LIST_MEMORY, async () => (await import('./commands/memory.ts')).listMemory),
      bind(runs.FORGET_MEMORY, async () => (await import('./commands/memory.ts')).forgetMemory),
    ],
  },
  {
    heading: 'Operate',
    commands: [
      bind(DOCTOR, async () => (await import('./doctor/doctor.ts')).doctor),
      bind(shell.DOCS, async () => (await import('./commands/docs.ts')).docs),
      bind(shell.COMPLETION, async () => (await import('./completion/completion.ts')).completion),
      bind(shell.SCHEMA, async () => (await import('./commands/schema.ts')).schema),
      bind(runs.CREATE_KEY, async () => (await import('./commands/keys.ts')).createKey),
      bind(runs.LIST_KEYS, async () => (await import('./commands/keys.ts')).listKeys),
      bind(runs.REVOKE_KEY, async () => (await import('./commands/keys.ts')).revokeKey),
      bind(runs.REPLAY, async () => (await import('./commands/replay.ts')).replay),
    ],
  },
];

/** Words that several commands begin with, such as `session show`. */
export const PARENTS: Readonly<Record<string, { summary: string; description: string }>> = {
  session: {
    summary: 'show, raise, reset, save, load, close or delete a session, or list its turns',
    description: 'Commands about one session. "longhaul chat" talks to one, and "longhaul sessions" lists them.',
  },
  memory: {
    summary: 'list or forget entries of a memory',
    description: 'Commands about a memory in a file. --user and --tenant say whose entries are meant.',
  },
  keys: {
    summary: 'create, list or revoke API keys',
    description: 'Commands about the API keys of "longhaul serve", which are kept in a file without their secrets.',
  },
};
