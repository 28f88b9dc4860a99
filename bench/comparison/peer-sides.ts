import { ACTIVITIES } from '../../src/core/protocol.ts';
import { TOOL_NAME } from '../script/scripted-run.ts';

/** All sides that `peers` compares, Longhaul first. */
export const SIDE_NAMES = ['longhaul', 'loop', 'value-loop', 'openai-agents', 'ai-sdk'] as const;

/** One of `SIDE_NAMES`. */
export type SideName = (typeof SIDE_NAMES)[number];

/** The plugins of other authors. */
export const PLUGINS: readonly SideName[] = ['openai-agents', 'ai-sdk'];

/** The program, the activity types and the appearance of a side. */
export interface PeerSide {
  label: string;
  /** The program of its process. */
  program: URL;
  /** The activity type of its model call. */
  modelActivity: string;
  /** The color of its line in a plot. */
  color: string;
}

const program = (path: string): URL => new URL(`../${path}`, import.meta.url);

/** The sides by name. */
export const PEER_SIDES: Readonly<Record<SideName, PeerSide>> = {
  longhaul: { label: 'Longhaul', program: program('processes/longhaul.ts'), modelActivity: ACTIVITIES.callModel, color: '#0b6e4f' },
  loop: { label: 'loop by reference', program: program('processes/loop.ts'), modelActivity: 'askModel', color: '#6c757d' },
  'value-loop': { label: 'loop by value', program: program('processes/value-loop.ts'), modelActivity: 'askModel', color: '#c28f00' },
  'openai-agents': {
    label: '@temporalio/openai-agents',
    program: program('peers/openai-agents.ts'),
    modelActivity: 'invokeModelActivity',
    color: '#2563a8',
  },
  'ai-sdk': { label: '@temporalio/ai-sdk', program: program('peers/ai-sdk.ts'), modelActivity: 'invokeModel', color: '#b3261e' },
};

/** The activity types of a side's calls. */
export function callsMadeBy(side: SideName): string[] {
  return [PEER_SIDES[side].modelActivity, TOOL_NAME];
}
