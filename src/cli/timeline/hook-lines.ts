import type { HookRecord } from '../../core/domain/hooks.ts';
import { printableLine } from '../../core/domain/text.ts';
import type { Output } from '../output.ts';

const VERBS = { deny: 'denies', modify: 'changes', inject: 'adds', ask: 'asks', failed: 'failed' } as const;

/** Returns a line for each answer of a hook: `⚑ cap changes (pre_tool_use)`, `⚑ guard failed (pre_tool_use): broken`. */
export function hookLines(hooks: readonly HookRecord[] | undefined, output: Pick<Output, 'look'>): string[] {
  return (hooks ?? []).map(({ hook, on, answer, text, denied }) => {
    const verb = `${VERBS[answer]}${denied ? ', and so denies' : ''}`;
    const line = printableLine(`${hook} ${verb} (${on})${text === undefined ? '' : `: ${text}`}`);
    return `⚑ ${output.look(answer === 'deny' || answer === 'failed' ? 'yellow' : 'dim', line)}`;
  });
}
