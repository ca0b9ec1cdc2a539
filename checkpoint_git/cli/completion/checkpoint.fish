# fish completion for checkpoint, git checkpoint and checkpoint-doctor
function __checkpoint_complete
    set -l line (commandline -cp)
    set -l typed (commandline -ct)
    for answer in (command checkpoint complete --line="$line" 2>/dev/null)
        switch $answer
            case ':files*'
                __fish_complete_path $typed
            case ':folders*'
                __fish_complete_directories $typed
            case '*'
                echo $answer
        end
    end
end
for program in checkpoint git-checkpoint checkpoint-doctor
    complete -c $program -f -a '(__checkpoint_complete)'
end
complete -c git -n '__fish_seen_subcommand_from checkpoint' -f -a '(__checkpoint_complete)'
