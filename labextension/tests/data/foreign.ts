/** Texts that strangers may put into names. */

export const MARKUP = [
  '<img src=x onerror=alert(1)>',
  '<script>window.owned=1</script>',
  'a\u202egnp.exe',
  '{{7*7}}',
  '</bdi><b>'
];
