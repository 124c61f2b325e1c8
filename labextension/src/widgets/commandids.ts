/** Ids of all commands: part of the interface for palettes, tests and other extensions. */

export const CommandIDs = {
  open: 'jupyter-dra:open',
  launch: 'jupyter-dra:launch',
  launchHere: 'jupyter-dra:launch-here',
  wait: 'jupyter-dra:wait',
  cancel: 'jupyter-dra:cancel',
  attachHere: 'jupyter-dra:attach-here',
  openNotebook: 'jupyter-dra:open-notebook',
  restart: 'jupyter-dra:restart',
  changePod: 'jupyter-dra:change-pod',
  log: 'jupyter-dra:log',
  extend: 'jupyter-dra:extend',
  stop: 'jupyter-dra:stop',
  detach: 'jupyter-dra:detach',
  describe: 'jupyter-dra:describe',
  copyRequest: 'jupyter-dra:copy-request',
  copyForAdmin: 'jupyter-dra:copy-for-admin',
  checkCluster: 'jupyter-dra:check-cluster',
  checkManifest: 'jupyter-dra:check-manifest',
  changeCluster: 'jupyter-dra:change-cluster',
  startLocal: 'jupyter-dra:start-local',
  rememberInNotebook: 'jupyter-dra:remember-in-notebook',
  showHolders: 'jupyter-dra:show-holders',
  togglePicture: 'jupyter-dra:toggle-picture'
} as const;
