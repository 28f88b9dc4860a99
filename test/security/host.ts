import { ATTEMPTS } from './attempts/all.ts';
import { attack } from './attack.ts';
import { Canaries } from './canaries.ts';

/** A process that hosts executors: it runs the requested attempts sequentially, and reports on each. */

const canaries = await Canaries.open();

process.on('message', (index: number) => {
  const attempt = ATTEMPTS[index];
  if (attempt === undefined) throw new Error(`there is no attempt ${index}`);
  // A rejection ends this process, which counts as a dead host.
  void attack(attempt, canaries).then((outcome) => process.send?.(outcome));
});

process.once('disconnect', () => void canaries.close().then(() => process.exit(0)));
process.send?.('ready');
