import type { RunHandle } from '../../client/run-handle.ts';
import type { RunAccess } from '../harness/run-access.ts';

/** Returns the access of a test to a run on a server: like any other client. */
export function durableAccess(run: RunHandle<unknown>): RunAccess {
  return {
    send: (id, content, mode) => run.send(content, { id, mode }),
    cancel: (reason) => run.cancel(reason),
    raise: (id, limits) => run.raise(limits, { id }),
    setPermissions: (id, permissions) => run.setPermissions(permissions, { id }),
    decide: (id, waiting, decision) => {
      const by = decision.by === undefined ? {} : { by: decision.by };
      const options = { id, ...by };
      switch (decision.type) {
        case 'approve': {
          const { arguments: edited, remember } = decision;
          const more = { ...(edited === undefined ? {} : { arguments: edited }), ...(remember === undefined ? {} : { remember }) };
          return run.approve(waiting, { ...options, ...more });
        }
        case 'reject': {
          const { reason, remember } = decision;
          const more = { ...(reason === undefined ? {} : { reason }), ...(remember === undefined ? {} : { remember }) };
          return run.reject(waiting, { ...options, ...more });
        }
        case 'respond':
          return run.respond(waiting, decision.content, options);
      }
    },
  };
}
