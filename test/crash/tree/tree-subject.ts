import type { Subject } from '../subject.ts';
import { runDelegation } from './delegation-run.ts';
import { type PlainTree, plainTree } from './plain-tree.ts';
import { pointProblems, randomProblems, undisturbedProblems } from './tree-problems.ts';
import type { TreeRecord } from './tree-record.ts';

/** The timeout of these activities does not depend on the heartbeats of the testbed. */
const NOTICED_LATE = /(before|after) (resolve|notifyWaiting|authorizeDecision|readResult)/;

/** The run of an agent that delegates to other agents. */
export const treeSubject: Subject<TreeRecord, PlainTree> = {
  name: 'tree',
  eventsOfExecution: 24,
  // A call that a busy worker seems to have lost is made again, and its answer paid twice.
  heartbeatMs: 1_500,
  run: runDelegation,
  plain: plainTree,
  undisturbedProblems,
  pointProblems,
  randomProblems,
  isSlow: (point) => NOTICED_LATE.test(point) || point.endsWith('query data'),
  // Every sixth of the points for workers, and every eighteenth for servers: the tree has more than 150.
  sample: (points, pass) => points.filter((_, index) => index % (pass === 'worker' ? 12 : 24) === 1),
};
