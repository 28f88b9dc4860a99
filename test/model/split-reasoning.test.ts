import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type AnswerPiece, ReasoningSplitter, splitReasoning } from '../../src/model/answer-text.ts';

describe('reasoning at the beginning of an answer is taken out of it', () => {
  it.each<[form: string, answer: string, text: string, reasoning: string]>([
    ['think', '<think>hm</think>Four.', 'Four.', 'hm'],
    ['think on separate lines', '<think>\nhm\n</think>\n\nFour.\n', 'Four.\n', '\nhm\n'],
    ['blanks before', '\n\n <think>hm</think> Four.', 'Four.', 'hm'],
    ['thinking', '<thinking>hm</thinking>Four.', 'Four.', 'hm'],
    ['thought', '<thought>hm</thought>Four.', 'Four.', 'hm'],
    ['reasoning', '<reasoning>hm</reasoning>Four.', 'Four.', 'hm'],
    ['brackets', '[THINK]hm[/THINK]Four.', 'Four.', 'hm'],
    ['triangles', '◁think▷hm◁/think▷Four.', 'Four.', 'hm'],
    ['a channel', '<|channel|>analysis<|message|>hm<|end|><|start|>assistant<|channel|>final<|message|>Four.', 'Four.', 'hm'],
    ['nothing in it', '<think></think>Four.', 'Four.', ''],
    ['several', '<think>a</think>\n<think>b</think>Four.', 'Four.', 'ab'],
    ['another mark in it', '<think>is </thinking> a mark?</think>Four.', 'Four.', 'is </thinking> a mark?'],
    ['JSON after it', '<think>{"a":1}</think>{"a":2}', '{"a":2}', '{"a":1}'],
    ['not closed', '<think>hm', '', 'hm'],
    ['not closed, with what looks like an answer', '<think>hm\n\nThe answer is four.', '', 'hm\n\nThe answer is four.'],
    ['closed by a part of a mark', '<think>hm</thin', '', 'hm</thin'],
    ['a channel that does not come to its end', '<|channel|>analysis<|message|>hm<|end|>', '', 'hm<|end|>'],
    ['nothing but reasoning', '<think>hm</think>\n', '', 'hm'],
    ['no reasoning', 'Four.', 'Four.', ''],
    ['blanks alone', ' \n ', ' \n ', ''],
    ['nothing', '', '', ''],
    ['a mark later', 'Use <think>hm</think> for it.', 'Use <think>hm</think> for it.', ''],
    ['a second mark later', '<think>a</think>Use <think>b</think>.', 'Use <think>b</think>.', 'a'],
    ['a part of a mark', '<thin', '<thin', ''],
    ['another tag', '<thinker>hm</thinker>', '<thinker>hm</thinker>', ''],
    ['an end without a beginning', 'hm</think>Four.', 'hm</think>Four.', ''],
    ['a thousand blanks and more', `${' '.repeat(1_001)}<think>hm</think>`, `${' '.repeat(1_001)}<think>hm</think>`, ''],
  ])('%s', (_, answer, text, reasoning) => {
    expect(splitReasoning(answer)).toEqual({ text, reasoning });
  });

  it('the same however the answer is cut into pieces', () => {
    const part = fc.oneof(
      fc.constantFrom('<think>', '</think>', '<thinking>', '</thinking>', '<thi', '</', '[THINK]', '[/THINK]', ' ', '\n', ' '.repeat(600)),
      fc.string({ maxLength: 5 }),
    );
    const answers = fc.array(part, { maxLength: 12 }).map((parts) => parts.join(''));
    fc.assert(
      fc.property(answers, fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1 }), (answer, sizes) => {
        const splitter = new ReasoningSplitter();
        const pieces: AnswerPiece[] = [];
        for (let at = 0, index = 0; at < answer.length; index += 1) {
          const size = sizes[index % sizes.length] ?? 1;
          pieces.push(...splitter.add(answer.slice(at, at + size)));
          at += size;
        }
        pieces.push(...splitter.end());
        const joined = (type: AnswerPiece['type']): string => pieces.flatMap((one) => (one.type === type ? [one.text] : [])).join('');
        expect({ text: joined('text'), reasoning: joined('reasoning') }).toEqual(splitReasoning(answer));
      }),
      { numRuns: 2_000 },
    );
  });

  it('holds nothing back that must be text or reasoning', () => {
    const splitter = new ReasoningSplitter();
    expect(splitter.add('<th')).toEqual([]);
    expect(splitter.add('ink>let me')).toEqual([{ type: 'reasoning', text: 'let me' }]);
    expect(splitter.add(' see</th')).toEqual([{ type: 'reasoning', text: ' see' }]);
    expect(splitter.add('ink>')).toEqual([]);
    expect(splitter.add('\nFo')).toEqual([{ type: 'text', text: 'Fo' }]);
    expect(splitter.add('ur')).toEqual([{ type: 'text', text: 'ur' }]);
    expect(splitter.end()).toEqual([]);
  });
});
