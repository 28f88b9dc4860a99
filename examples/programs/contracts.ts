/** The contracts that the demo reads. The number in brackets is the number of the clause. */
export const CONTRACTS = [
  {
    title: 'Copier lease',
    text: '[4] The lease renews for a year on 1 March unless it is cancelled 60 days before. [7] The rent is €310 a month.',
  },
  {
    title: 'Cleaning',
    text: '[2] Either party may end the agreement at the end of any month. [3] The price is €480 a month.',
  },
  {
    title: 'Phone line',
    text: '[1] The line renews for 24 months on 15 January unless it is cancelled 30 days before. [5] It costs €95 a month; nobody has called from it since May.',
  },
];
