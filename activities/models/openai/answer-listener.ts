import type { ModelCallContext } from '../../../src/core/domain/model/model.ts';

/** Who hears of an answer while it arrives. */
export type AnswerListener = Pick<ModelCallContext, 'onText' | 'onOutput' | 'onUsage'>;
