import type { RunPorts } from './ports.ts';

/** The ports of a run that nobody talks to and whose history has no bounds: for runs without a workflow around them. */
export const QUIET_PORTS: Pick<RunPorts, 'summarise' | 'takeMessages' | 'paused' | 'idle' | 'continueDue' | 'allows'> = {
  summarise: () => Promise.resolve({ type: 'failed', code: 'internal', message: 'nothing here summarises' }),
  takeMessages: () => [],
  paused: () => false,
  idle: () => Promise.resolve(),
  continueDue: () => false,
  allows: () => true,
};
