import type { BuiltInAnchor } from '../anchor.ts';
import { hasEmailAddress } from './email-address.ts';
import { AFTER_WORD, BEFORE_WORD } from './word-boundary.ts';

// None of these expressions reads more than 40 characters from where it begins: no text makes them slow.
const SSN = number(String.raw`\p{Nd}{3}-\p{Nd}{2}-\p{Nd}{4}`);
const CARD = number(String.raw`\p{Nd}{4}[\s-]?\p{Nd}{4}[\s-]?\p{Nd}{4}[\s-]?\p{Nd}{4}`);
const PHONE = number(String.raw`(?:1[-.\s]?)?\(?\p{Nd}{3}\)?[-.\s]?\p{Nd}{3}[-.\s]?\p{Nd}{4}`);

function number(digits: string): RegExp {
  return new RegExp(`${BEFORE_WORD}${digits}${AFTER_WORD}`, 'u');
}

/** Stops answers with personal data: social security numbers, card numbers, email addresses, phone numbers. */
export const privacyGuard: BuiltInAnchor = {
  name: 'PrivacyGuard',
  description: 'No personal data: social security numbers, card numbers, email addresses, phone numbers.',
  reject: ['pii', 'personal_data', 'ssn', 'phone_number'],
  onViolation: 'raise',
  check: (text) => [
    ...(SSN.test(text) ? ['Possible SSN detected'] : []),
    ...(CARD.test(text) ? ['Possible credit card number detected'] : []),
    ...(hasEmailAddress(text) ? ['Email address detected in output'] : []),
    ...(PHONE.test(text) ? ['Phone number detected in output'] : []),
  ],
};
