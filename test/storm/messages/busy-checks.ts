import { type Check, unless } from '../../processes/command.ts';
import type { FilledExecution } from './fill-execution.ts';
import { decisionsIn, type MessagesRecord } from './messages-checks.ts';

/** Further checks for a run that could not continue as new for a while. */
export function busyChecks({ effects, events }: MessagesRecord, { refusal }: FilledExecution): Check[] {
  const work = effects.filter(({ tool }) => tool === 'work');
  const ended = work[0]?.at ?? 0;
  const meanwhile = decisionsIn(events).filter(({ at }) => Date.parse(at) < ended);
  return [
    {
      name: 'while its call runs, the run refuses requests as busy',
      problems: unless(refusal?.includes('continued as new') === true, refusal ?? 'it never did'),
    },
    { name: 'the call runs once', problems: unless(work.length === 1, `it ran ${work.length} times`) },
    {
      name: 'decisions get through meanwhile',
      problems: unless(meanwhile.length > 0, 'nothing was decided before the call had ended'),
    },
  ];
}
