# What differs between sites, for all scripts of this folder. Copy this file to ~/.config/drl/site.sh, or beside a script, or
# where the variable DRL_SITE says, and take away the # of the lines that you need. Jobs read it when they begin, after the
# one that is installed with drl, in share/drl/batch, which is for all users. Beside a script it counts only if it and its
# folder are yours or root's, nobody else can write there, and it is in no folder where everybody can, such as /tmp.
#
# Account and partition must be known before there is a job. sbatch takes them, and more ("INPUT ENVIRONMENT VARIABLES" of
# `man sbatch`), from SBATCH_* variables of the shell that you type it in. So that they hold for drl's jobs alone, put this
# line into ~/.bashrc, and type drl_sbatch in place of sbatch:
#   drl_sbatch() ( . ~/.config/drl/site.sh; sbatch "$@" )

# export SBATCH_ACCOUNT=project         # who pays; srun and salloc: SLURM_ACCOUNT, SALLOC_ACCOUNT
# export SBATCH_PARTITION=gpu           # srun and salloc: SLURM_PARTITION, SALLOC_PARTITION
# export SBATCH_GPUS_PER_NODE=4         # where --exclusive alone grants no GPUs
# export SBATCH_MEM_PER_NODE=0          # all memory of a node, where --exclusive alone grants little
# export SBATCH_TIMELIMIT=4:00:00       # of each attempt, where the partition's default is too short, or none is given

# module load drl                       # or, without a module: export DRL_BIN=/path/to/bin
# export DRL_RUNS_DIR=/scratch/$USER/drl/runs
# export DRL_AFTER_CHECKPOINT='cp "$1" /archive/$USER/'  # after each checkpoint, in the background; "$1" is its file
# export DRL_MAX_REQUEUE=100            # how often a job comes back; 0: never, where chains of jobs are forbidden, or
# [[ ${SLURM_JOB_QOS:-} != debug ]] || export DRL_MAX_REQUEUE=0   # ... in one QOS, as OLCF does in debug
# export DRL_SBCAST=1                   # on hundreds of nodes: each runs a copy of drl in its $TMPDIR; or /FOLDER in its place
# export SLURM_MPI_TYPE=pmix            # if `srun --mpi=list` has it and it is not the default. Not on Cray systems.

# --- NERSC Perlmutter, GPU nodes: chosen by constraint; GPUs are asked for; accounts for GPU time end in _g ---
# export SBATCH_ACCOUNT=m1234_g SBATCH_CONSTRAINT=gpu SBATCH_QOS=regular SBATCH_GPUS_PER_NODE=4
# export DRL_RUNS_DIR=$PSCRATCH/drl/runs

# --- CSCS Alps, Grace-Hopper nodes: always whole ones; NCCL goes over Slingshot by its libfabric plugin ---
# export SBATCH_ACCOUNT=g123 SBATCH_PARTITION=normal
# export NCCL_NET="AWS Libfabric"       # without the plugin fail, instead of falling back to TCP
# export NCCL_NET_GDR_LEVEL=PHB NCCL_CROSS_NIC=1 NCCL_PROTO=^LL128
# export FI_CXI_DEFAULT_CQ_SIZE=131072 FI_CXI_DEFAULT_TX_SIZE=16384 FI_CXI_DISABLE_HOST_REGISTER=1
# export FI_CXI_RX_MATCH_MODE=software FI_MR_CACHE_MONITOR=userfaultfd
# export DRL_RUNS_DIR=$SCRATCH/drl/runs
