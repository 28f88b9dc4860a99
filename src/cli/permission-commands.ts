import { argument, defineCommand } from './define-command.ts';
import { COMMON } from './options.ts';

export const SET_PERMISSIONS = defineCommand({
  name: 'set-permissions',
  summary: 'set the permissions of a run',
  description: "Sets the permissions of an open run, in place of its agent's. If they are wider, the worker is asked.",
  args: {
    runId: COMMON.run,
    permissions: argument('<permissions>', 'the permissions as JSON, such as \'{"deny": ["web_*"]}\''),
  },
  options: { by: COMMON.by('sets the permissions'), id: COMMON.id('request') },
});
