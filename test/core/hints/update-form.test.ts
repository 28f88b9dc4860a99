import { expect, test } from 'vitest';
import { type ApprovalView, updateForm } from '../../../src/core/domain/approvals.ts';
import { decisionProblem } from '../../../src/core/wire-schemas/request-schemas.ts';

const waiting = { callId: 'c1', digest: 'D', key: 'e1/0' };
const NAMES = { tool: ['approve', 'reject'], limit: ['approve', 'reject'], question: ['respond'], outcome: ['respond'] };

test.each(Object.entries(NAMES))('the form for a %s can be sent unchanged', (kind, names) => {
  const form = updateForm({ ...waiting, key: `${'0'.repeat(80)}/0`, kind: kind as ApprovalView['kind'] });
  expect(form.names).toEqual(names);
  for (const name of names) expect(decisionProblem(name as 'approve', form.input)).toBeUndefined();
});

test('an answer has the members that its schema names', () => {
  const answer = { type: 'object', properties: { refund: {}, note: {} } };
  expect(updateForm({ ...waiting, kind: 'question', answer }).input).toEqual({
    callId: 'c1',
    id: 'ui-e1/0',
    digest: 'D',
    content: { refund: '…', note: '…' },
  });
});
