import { blocksAround } from '../names/check-names.ts';
import type { OutlineList, OutlineStep } from '../outline.ts';
import { quoted } from '../problems.ts';

/** Explains why a step is not visible at another step of its unit, or, without one, outside of its unit. */
export function whyInvisible(step: OutlineStep, at: OutlineStep | undefined): string {
  const name = quoted(step.name);
  if (step === at) return 'a step cannot refer to itself';
  if (at !== undefined && blocksAround(at).includes(step)) return `the block ${name} has not ended inside itself`;
  const apart = at === undefined ? undefined : parting(step, at);
  if (apart?.block?.kind === 'parallel')
    return `${name} runs side by side with this step, in another branch of ${quoted(apart.block.name)}`;
  if (apart?.block?.kind === 'branch') return `${name} runs in another case of ${quoted(apart.block.name)}`;
  if (at !== undefined && step.order > at.order) return `${name} runs after this step`;
  const around = at === undefined ? [] : blocksAround(at);
  const hiding = blocksAround(step).findLast((block) => (block.kind === 'branch' || block.kind === 'forEach') && !around.includes(block));
  if (hiding === undefined) return `${name} may not have run`;
  const why = hiding.kind === 'branch' ? 'may not have run' : 'runs once for each item';
  return `${name} ${why}, and is not visible outside of ${quoted(hiding.name)}: refer to ${quoted(hiding.name)} instead`;
}

/** Returns the list of the innermost block that has both steps in different lists. */
function parting(step: OutlineStep, at: OutlineStep): OutlineList | undefined {
  const around = listsAround(at);
  const blocks = new Set(blocksAround(at));
  for (let list: OutlineList | undefined = step.list; list?.block !== undefined; list = list.block.list) {
    if (around.has(list)) return undefined;
    if (blocks.has(list.block)) return list;
  }
  return undefined;
}

function listsAround(step: OutlineStep): Set<OutlineList> {
  const lists = new Set<OutlineList>();
  for (let list: OutlineList | undefined = step.list; list !== undefined; list = list.block?.list) lists.add(list);
  return lists;
}
