// The first thirty seconds: seven sentences, each with the beat of the opening lesson that it belongs to.
// The gallery's script chooses a seed for which step 1 keeps every draft and step 2 rejects its third.

const CAPTIONS = [
  { beat: '1.start', text: 'A small model guesses, a big model checks all its guesses in one pass.' },
  { beat: '1.verify', text: 'The small model gave each of its four guesses a probability q. One pass of the big model gives all four its own: p.' },
  { beat: '1.coin.1', text: 'A coin decides, from left to right: a guess is kept with the chance p/q, and always where p is at least q.' },
  { beat: '1.draw', text: 'All four were kept, and the same pass gives one more token, the bonus: five tokens for one big pass.' },
  { beat: '2.start', text: 'Again the small model guesses four tokens, and one big pass checks them all.' },
  { beat: '2.coin.3', text: 'This coin did not fall below p/q: the guess is rejected, and the one built on it is not even looked at.' },
  { beat: '2.draw', text: 'The replacement comes from what the target is still owed: three tokens for one big pass, distributed exactly as the target’s own.' },
];
