import { UsageError } from '../core/domain/errors.ts';
import { nodeProblem } from './node-version.ts';

// Imported first by the entries that need features that an older Node lacks. The modules that they load must also link there,
// or Node fails over a missing export before this is reached.
const problem = nodeProblem(process.versions.node);
if (problem !== undefined) throw new UsageError(`longhaul cannot run here: ${problem}`);
